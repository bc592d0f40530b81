import type { Pool } from 'undici'

/** What a pool is given, whether it goes through a proxy or not; times are in ms, and 0 is no bound. */
export type PoolOptions = Pick<Pool.Options, 'connectTimeout' | 'allowH2' | 'headersTimeout' | 'bodyTimeout'>
