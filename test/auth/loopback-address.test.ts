import { expect } from 'chai'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { failureOf } from '../client/capture.ts'
import { withListener } from './temporary-listener.ts'

describe('the address of the callback listener', () => {
  it('has the first free port, and the error names each port if none is free', () =>
    withListener(async ({ port: taken }) => {
      await withListener(async ({ port: alsoTaken }) => {
        await withListener(
          async ({ port }) => {
            expect([taken, alsoTaken]).not.to.include(port)
          },
          { ports: [taken, alsoTaken, 0] },
        )
        const failure = await failureOf(withListener(async () => {}, { ports: [taken, alsoTaken] }))
        expect(failure.kind).to.equal('refused')
        expect(failure.message).to.equal(
          `Cannot listen on 127.0.0.1 for the browser: port ${taken} is in use, port ${alsoTaken} is in use`,
        )
        expect(hintOf(failure)).to.contain('--redirect-port')
      })
    }))

  it('has the first of several free ports', async () => {
    let free = 0
    await withListener(async ({ port }) => {
      free = port
    })
    await withListener(
      async ({ port }) => {
        expect(port).to.equal(free)
      },
      { ports: [free, 0] },
    )
  })
})
