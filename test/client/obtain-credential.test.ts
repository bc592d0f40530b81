import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { Client } from '../../src/client/client.ts'
import { closing } from '../support/lifetime.ts'
import { reasonOf } from './capture.ts'

describe('a credential that a client waits for', () => {
  const baseUrl = 'https://unused.invalid'

  it('is not awaited after the call is aborted', async () => {
    await using client = closing(new Client({ baseUrl, credential: () => new Promise(() => {}) }))
    const controller = new AbortController()
    const reason = new Error('stopped')
    const call = reasonOf(client.chat.models({ signal: controller.signal }))
    controller.abort(reason)
    expect(await call).to.equal(reason)
  })

  it('is awaited after the client is aborted, because its source may have to store it first', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const { promise, resolve } = Promise.withResolvers<string>()
    await using client = closing(new Client({ baseUrl, credential: () => promise, signal }))
    let isOver = false
    const call = reasonOf(client.chat.models({ signal })).finally(() => {
      isOver = true
    })
    const reason = new Error('interrupted')
    controller.abort(reason)
    await setImmediate()
    expect(isOver).to.equal(false)
    resolve('some-key')
    expect(await call).to.equal(reason)
  })
})
