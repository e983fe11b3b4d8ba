import {
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";

const known = new WeakMap<DescMethod, MethodDefinition<Message, Message>>();

/** The grpc-js definition of one method, for client and server. */
export function methodDefinition(method: DescMethod): MethodDefinition<Message, Message> {
  let definition = known.get(method);
  if (!definition) {
    definition = define(method);
    known.set(method, definition);
  }
  return definition;
}

function define(method: DescMethod): MethodDefinition<Message, Message> {
  const request = codec(method.input);
  const response = codec(method.output);
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: request.serialize,
    requestDeserialize: request.deserialize,
    responseSerialize: response.serialize,
    responseDeserialize: response.deserialize,
    originalName: method.localName,
  };
}

/** The same for a whole service, by method name as in the .proto file. */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.name, methodDefinition(method)]));
}

function codec(schema: DescMessage) {
  return {
    serialize: (message: Message): Buffer => {
      const bytes = toBinary(schema, message);
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    // Fields of a newer CRI are not used, and lists of containers are large.
    deserialize: (bytes: Buffer): Message => fromBinary(schema, bytes, { readUnknownFields: false }),
  };
}
