/** A string type that other strings cannot be assigned to: a wrong ID does not compile. */
export type Brand<T, Name extends string> = T & { readonly __brand: Name };
