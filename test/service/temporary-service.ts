import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningService, type ServiceOptions, startService } from '../../src/service/start-service.ts'

/** An answer with its body read, as JSON where it is JSON. */
export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any
  text: string
}

export interface TemporaryService extends RunningService {
  key: string
  /** A request with the key; `body` is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** The same without reading the body. */
  open(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<Response>
}

/** An empty folder, gone when `use` is done. */
export async function withFolder<T>(use: (folder: string) => Promise<T> | T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'chatctl-service-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A service on an empty folder, closed and gone when `use` is done. */
export async function withService<T>(
  use: (service: TemporaryService) => Promise<T> | T,
  options: Partial<ServiceOptions> = {},
): Promise<T> {
  return withFolder(async (folder) => {
    const service = equip(await startService({ dataDir: folder, ...options }))
    try {
      return await use(service)
    } finally {
      await service.close()
    }
  })
}

/** A running service with a key of its own and a way to call it. */
export function equip(service: RunningService): TemporaryService {
  const key = service.createProcessKey()
  return { ...service, key, call: caller(service.url, key), open: opener(service.url, key) }
}

/** Requests with a key, or with none. */
export function caller(url: string, key: string | undefined): TemporaryService['call'] {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text ? JSON.parse(text) : undefined,
    }
  }
}

function opener(url: string, key: string): TemporaryService['open'] {
  return (method, path, body, signal) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
}
