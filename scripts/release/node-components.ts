/** A component inside another one, of which no package manager knows. */
export interface Inside {
  name: string
  version?: string
  /** SPDX identifier. */
  license: string
  /** Vendor and product, as in the National Vulnerability Database. */
  cpe?: string
}

/** The libraries in Node, by their names in `process.versions`. Their licenses are those in Node's LICENSE. */
const libraries: Record<string, Inside> = {
  acorn: { name: 'acorn', license: 'MIT' },
  ada: { name: 'ada', license: 'MIT' },
  amaro: { name: 'amaro', license: 'MIT' },
  ares: { name: 'c-ares', license: 'MIT', cpe: 'c-ares:c-ares' },
  brotli: { name: 'brotli', license: 'MIT', cpe: 'google:brotli' },
  icu: { name: 'icu', license: 'Unicode-3.0', cpe: 'unicode:international_components_for_unicode' },
  llhttp: { name: 'llhttp', license: 'MIT', cpe: 'llhttp:llhttp' },
  merve: { name: 'merve', license: 'MIT' },
  nbytes: { name: 'nbytes', license: 'MIT' },
  ncrypto: { name: 'ncrypto', license: 'MIT' },
  nghttp2: { name: 'nghttp2', license: 'MIT', cpe: 'nghttp2:nghttp2' },
  openssl: { name: 'openssl', license: 'Apache-2.0', cpe: 'openssl:openssl' },
  simdjson: { name: 'simdjson', license: 'Apache-2.0' },
  simdutf: { name: 'simdutf', license: 'MIT' },
  sqlite: { name: 'sqlite', license: 'blessing', cpe: 'sqlite:sqlite' },
  undici: { name: 'undici', license: 'MIT', cpe: 'nodejs:undici' },
  uv: { name: 'libuv', license: 'MIT', cpe: 'libuv:libuv' },
  uvwasi: { name: 'uvwasi', license: 'MIT' },
  v8: { name: 'v8', license: 'BSD-3-Clause', cpe: 'google:v8' },
  zlib: { name: 'zlib', license: 'Zlib', cpe: 'zlib:zlib' },
  zstd: { name: 'zstd', license: 'BSD-3-Clause', cpe: 'facebook:zstandard' },
}

/** Versions of interfaces and data, and Node itself. */
const others = new Set(['cldr', 'modules', 'napi', 'node', 'tz', 'unicode'])

/**
 * @param versions `process.versions`, in which a library that was not compiled in has an empty version
 * @throws Error for a library whose license is unknown
 */
export function findNodeComponents(versions: Record<string, string | undefined>): Inside[] {
  return Object.entries(versions)
    .filter(([key, version]) => version && !others.has(key))
    .map(([key, version = '']) => {
      const library = libraries[key]
      if (!library) throw new Error(`scripts/release/node-components.ts has no license for ${key} ${version}`)
      return { ...library, version }
    })
}
