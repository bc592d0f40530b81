import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

const sessions = 51

describe('a list that is on this machine', () => {
  const sandbox = perSuite(createSandbox)
  const run = async (line: string) => {
    const { exitCode, stdout, stderr } = await runChatctl(sandbox, line.split(' '))
    expect(exitCode, stderr).to.equal(0)
    return { stdout, stderr }
  }

  before(async () => {
    for (const name of ['One', 'Two', 'Three']) await run(`settings set app_name=${name} -p local`)
    const directory = join(sandbox.home, '.local/share/chatctl/sessions')
    mkdirSync(directory, { recursive: true })
    for (let index = 0; index < sessions; index++) {
      const id = `s${index}`
      const at = new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString()
      const lines = [
        { v: 1, type: 'session', id, at, profile: 'local', base_url: null },
        { type: 'user', turn: 1, at, text: 'What is a log?' },
      ]
      writeFileSync(join(directory, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
  })

  for (const [line, words] of [
    ['activity', 'There are older changes. Show them with: --limit 2'],
    ['settings history', 'There are older changes. Show them with: --limit 2'],
    ['settings history --service', 'There are older changes. Show them with: --limit 2'],
    ['service audit --action settings', 'Showing the newest 1 of 3 entries. Show all with: --limit 3'],
    ['chat sessions', 'There are more sessions. Show them with: --limit 2'],
    ['history search log', 'There are more messages; to see them, use --limit.'],
  ] as const)
    it(`says in every format that --limit shortens it: ${line}`, async () => {
      for (const format of ['json', 'jsonl', 'yaml', 'tsv']) {
        const { stderr } = await run(`${line} -p local --limit 1 -o ${format}`)
        const { message } = format.startsWith('json') ? JSON.parse(stderr).notice : { message: stderr }
        expect(message.replaceAll('\n', ' ')).to.contain(words)
      }
    })

  it('is printed whole for a program, without a notice', async () => {
    for (const line of ['chat sessions', 'chat sessions --search log', 'activity', 'settings history']) {
      const { stdout, stderr } = await run(`${line} -p local --json`)
      expect(JSON.parse(stdout)).to.have.lengthOf(line.startsWith('chat') ? sessions : 3)
      expect(stderr).to.equal('')
    }
    expect(JSON.parse((await run('history search log -p local --json')).stdout)).to.have.lengthOf(sessions)
  })

  it('is shortened for a person, except with chat sessions --all', async () => {
    const { stdout, stderr } = await run('chat sessions -p local -o tsv')
    expect(stdout.trim().split('\n')).to.have.lengthOf(50)
    expect(stderr).to.contain('There are more sessions. Show them with: --limit 100')
    expect((await run('chat sessions --all -o tsv')).stdout.trim().split('\n')).to.have.lengthOf(sessions)
  })

  it('names what a search omitted: the messages of a service without a mirror', async () => {
    const { stdout, stderr } = await run('history search absent -p local --json')
    expect(stdout).to.equal('[]\n')
    expect(JSON.parse(stderr).notice.message).to.contain('There is no mirror of this service')
  })
})
