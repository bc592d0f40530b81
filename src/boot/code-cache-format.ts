/**
 * V8 checks only the first bytes of cached code, and crashes if others are wrong, for example after a power
 * cut. Both formats therefore detect every damage.
 */

/**
 * The format on this machine, and of start.cjs in the package: the code twice. Comparing two copies takes less time than
 * a checksum.
 */
export function duplicate(code: Buffer): Buffer {
  return Buffer.concat([code, code])
}

/** @returns a part of the same memory; undefined if the file is damaged */
export function readDuplicate(bytes: Buffer): Buffer | undefined {
  const half = bytes.length / 2
  const code = bytes.subarray(0, half)
  return half > 0 && code.equals(bytes.subarray(half)) ? code : undefined
}

/** The format of the bundles in the package, at a third of the size: Zstandard, with its checksum. Slower to read. */
export function compress(code: Buffer): Buffer {
  const { constants, zstdCompressSync } = process.getBuiltinModule('node:zlib')
  return zstdCompressSync(code, {
    params: { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_checksumFlag]: 1 },
  })
}

/** @throws if the file is damaged */
export function decompress(bytes: Buffer): Buffer {
  // Larger than most caches, which are then decompressed in one piece.
  return process.getBuiltinModule('node:zlib').zstdDecompressSync(bytes, { chunkSize: 1024 * 1024 })
}
