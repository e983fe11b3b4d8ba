export { decodeProtobuf, type KindOf, protobufType } from "./decode-protobuf.ts";
export { encodeProtobuf, watchFrame } from "./encode-protobuf.ts";
