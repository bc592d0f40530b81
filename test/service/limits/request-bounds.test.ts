import { expect } from 'chai'
import { withService } from '../temporary-service.ts'

const MiB = 1024 * 1024

describe('the bounds of a request', () => {
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
