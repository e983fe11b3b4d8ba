/** A string that only its own kind may be assigned to: a wrong id does not compile. */
export type Brand<T, Name extends string> = T & { readonly __brand: Name };
