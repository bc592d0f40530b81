import { serve } from './measure.ts'

const messages = 100_000

/** A history, and one model. Sends prepared response bodies, so that the server takes little time. */
export async function startHistory(): Promise<{ url: string; close(): void }> {
  const texts = Array.from({ length: messages }, (_, index) =>
    JSON.stringify({
      id: `msg_${String(index).padStart(22, '0')}`,
      content: `Message ${index}: ${'some words that say what a short answer says. '.repeat(1 + (index % 7))}`,
      role: index % 2 ? 'assistant' : 'user',
      created_at: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
    }),
  )
  return serve((request, response) => {
    if (request.url?.includes('/models')) return response.end('{"data":[{"id":"m"}]}')
    const before = /before=msg_(\d+)/.exec(request.url ?? '')?.[1]
    const end = before === undefined ? messages : Number(before)
    const start = Math.max(0, end - 100)
    const body = `{"messages":[${texts.slice(start, end).join(',')}],"has_more":${start > 0}}`
    return response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
}
