import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { delayed, json, startScriptedServer } from '../../support/scripted-server.ts'
import { takeSample } from '../../support/take-sample.ts'

const rows = 60
const concurrency = 4

describe('a killed process of chat send --each', () => {
  const { sample, words } = takeSample(
    Array.from({ length: rows }, (_, index) => index + 1),
    6,
  )

  for (const killedAt of sample) {
    it(`sends no row twice, and loses no reply (killed at request ${killedAt}; ${words})`, async () => {
      const sandbox = createSandbox()
      const results = join(sandbox.home, 'out.jsonl')
      const sent: string[] = []
      let onSent = (): void => {}
      const server = await startScriptedServer({
        choose: ({ method, body }) => {
          if (method === 'GET') return json(200, {})
          const { message } = JSON.parse(body)
          sent.push(message)
          onSent()
          return delayed(3, json(200, { id: 'm1', response: `You said: ${message}` }))
        },
      })
      const run = async (): Promise<number | null> => {
        const flags = ['--yes', '--no-stream', '--concurrency', String(concurrency)]
        const args = ['chat', 'send', 'Row {{n}}', '--each', 'rows.csv', '--results', 'out.jsonl', ...flags]
        const child = startBuilt(sandbox, args, {
          env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-api-key' },
        })
        child.stdin?.end()
        onSent = () => {
          if (sent.length === killedAt) child.kill('SIGKILL')
        }
        const [exitCode] = await once(child, 'close')
        return exitCode
      }
      try {
        writeFileSync(
          join(sandbox.home, 'rows.csv'),
          `n\n${Array.from({ length: rows }, (_, n) => `${n}\n`).join('')}`,
        )
        expect(await run()).to.equal(null)
        expect(await run()).to.be.oneOf([0, 9])
        expect(new Set(sent).size, 'rows that were sent twice').to.equal(sent.length)
        const lines = readFileSync(results, 'utf8').trim().split('\n')
        const found: { index: number; status: string; reply?: string }[] = lines.map((line) =>
          JSON.parse(line),
        )
        const indexes = found.map(({ index }) => index).sort((one, other) => one - other)
        expect(indexes).to.deep.equal(Array.from({ length: rows }, (_, n) => n))
        const unknown = found.filter(({ status }) => status === 'unknown')
        expect(unknown.length).to.be.at.most(concurrency)
        for (const { index, status, reply } of found)
          if (status === 'done') expect(reply).to.equal(`You said: Row ${index}`)
          else expect(status).to.equal('unknown')
      } finally {
        await server.close()
        sandbox.remove()
      }
    })
  }
})
