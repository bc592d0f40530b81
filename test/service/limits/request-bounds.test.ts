import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { withService } from '../temporary-service.ts'

const MiB = 1024 * 1024

/** A completion of an OpenAI client, with this many bytes. */
const completion = (bytes: number) => {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'x' }] })
  return Buffer.alloc(bytes, body + ' '.repeat(bytes - body.length))
}

/** A request whose body the test writes. */
function begin(url: string, key: string, length: OutgoingHttpHeaders = {}) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...length }
  const upload = request(url, { method: 'POST', headers, agent: false })
  upload.on('error', () => {})
  const read = async () => {
    const [response] = (await once(upload, 'response')) as [IncomingMessage & { req: ClientRequest }]
    const { error } = JSON.parse(await text(response))
    return Object.assign(response, { error })
  }
  return { upload, response: read() }
}

describe('the bounds of a request', () => {
  it('are 32 MiB for a body of an OpenAI client, and 4 MiB for others', () =>
    withService(async ({ url, key, call }) => {
      for (const [path, largest, usual] of [
        ['/openai/v1/chat/completions', 32, 5 * MiB],
        ['/v1/chat/completions', 4, 4 * MiB],
      ] as const) {
        expect((await call('POST', path, completion(usual).toString())).status).to.equal(200)
        const { upload, response } = begin(url + path, key, { 'content-length': largest * MiB + 1 })
        upload.flushHeaders()
        const { statusCode, error } = await response
        upload.destroy()
        expect(statusCode).to.equal(413)
        expect(error.message).to.equal(`The request body is larger than ${largest} MiB`)
      }
    }))

  it('are 64 MiB for all bodies of OpenAI clients that are being received: another one gets a 503', () =>
    withService(async ({ url, key, call }) => {
      const body = completion(22 * MiB)
      const [path, last] = ['/openai/v1/chat/completions', body.length - 1]
      const uploads = [1, 2, 3].map(() => begin(url + path, key))
      for (const { upload } of uploads) upload.write(body.subarray(0, last))
      const refused = await Promise.race(uploads.map(({ response }) => response))
      expect([refused.statusCode, refused.headers['retry-after']]).to.deep.equal([503, '1'])
      expect(refused.error).to.include({ type: 'server_error', code: 'service_overloaded' })
      // The others may end, and there is room again.
      expect((await call('POST', path, completion(100).toString())).status).to.equal(200)
      const [first, second] = uploads.filter(({ upload }) => upload !== refused.req)
      first?.upload.end(body.subarray(last))
      expect(await first?.response).to.include({ statusCode: 200 })
      second?.upload.destroy()
      refused.req.destroy()
    }))

  it('are 1 MiB for a message and 512 characters for a model', () =>
    withService(async ({ call }) => {
      const fault = async (path: string, body: object) =>
        (await call('POST', path, body)).body.error?.details.faults?.[0]
      const send = '/api/chat/send'
      expect(await fault(send, { message: 'é'.repeat(MiB / 2) })).to.equal(undefined)
      expect(await fault(send, { message: `${'é'.repeat(MiB / 2)}x` })).to.deep.equal({
        path: 'message',
        message: 'must not exceed 1 MiB of UTF-8',
      })
      const messages = [{ role: 'user', content: 'x' }]
      for (const [path, body] of [
        [send, { message: 'x' }],
        ['/v1/chat/completions', { messages }],
      ] as const) {
        const found = await fault(path, { ...body, model: 'm'.repeat(513) })
        expect(found).to.deep.equal({ path: 'model', message: 'must have 1 to 512 characters' })
      }
    }))
})
