import { constants, gzipSync, zstdCompressSync } from "node:zlib";

/** Both depend only on their input and on the version of Node.js, which the lock file determines. */
export function gzip(data) {
  const compressed = gzipSync(data, { level: 4 });
  // The operating system that compressed it: unknown, wherever it was built.
  compressed[9] = 255;
  return compressed;
}

export function zstd(data) {
  return zstdCompressSync(data, {
    params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 },
    pledgedSrcSize: data.length,
  });
}
