/**
 * Bytes after which the name and the options are written again, before a question: so they are
 * found near the end of a long transcript without reading the whole of it.
 */
export const repeatAfter = 32 * 1024
