export { decodeProtobuf, protobufType } from "./decode-protobuf.ts";
export { encodeProtobuf, watchFrame } from "./encode-protobuf.ts";
