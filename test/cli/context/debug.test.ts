import { expect } from 'chai'
import { systemClock } from '../../../src/system/clock.ts'
import { packageFile } from '../../scripts/package-file.ts'
import { serviceCalls } from '../../support/command-lines.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { type HostOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  deadUrl,
  failing,
  json,
  type Script,
  sse,
  startScriptedServer,
} from '../../support/scripted-server.ts'

describe('--debug', () => {
  const sandbox = perSuite(() => createSandbox({ ownCache: true }))
  const server = perTest(startScriptedServer)

  async function run(args: readonly string[], script: Script, options: HostOptions = {}) {
    const env = {
      CHATCTL_BASE_URL: await server.serve(script),
      CHATCTL_API_KEY: 'k',
      CHATCTL_RETRIES: '0',
      ...options.env,
    }
    return runChatctl(sandbox, args, { ...options, env })
  }

  it('shows each request and response on stderr', async () => {
    const { stderr } = await run(['api', 'POST', '/v1/x', '-F', 'a=1', '--debug'], json(201, { b: 2 }))
    const lines = stderr.split('\n')
    expect(lines[0]).to.equal(`> POST ${server.url}/v1/x`)
    expect(lines).to.include('> content-type: application/json').and.include('> authorization: [redacted]')
    expect(stderr).to.match(/\n>\n> \{"a":"1"\}\n< 201 Created in \d+ms\n(< .+\n)+<\n< \{"b":2\}\n$/)
  })

  for (const call of serviceCalls)
    it(`does not change the stdout and the exit code of ${call.name}`, async () => {
      const { args, stdin = '' } = call
      // A port and a generated password are other ones in each run.
      const plain = (text: string) => text.replace(/[\w.-]{24}\n|127\.0\.0\.1:\d+/g, '')
      const [without, traced] = [
        await run(args, json(200, call.answer), { stdin }),
        await run([...args, '--debug'], json(200, call.answer), { stdin }),
      ]
      expect(traced.exitCode).to.equal(without.exitCode)
      if (args[0] !== 'doctor') expect(plain(traced.stdout)).to.equal(plain(without.stdout))
      expect(traced.stderr).to.match(/^> /m).and.match(/^< /m)
    })

  it('shows a stream when it has ended', async () => {
    const { stdout, stderr } = await run(
      ['chat', 'send', 'Hi', '--debug'],
      sse([{ delta: 'a' }, { delta: 'b' }]),
    )
    expect(stdout).to.equal('ab\n')
    expect(stderr).to.match(
      /\n< \[stream (complete|closed) after 56 bytes in \d parts?\]\n<\n< data: \{"delta":"a"\}\n/,
    )
  })

  it('names the causes of a failure, without a stack', async () => {
    const env = { CHATCTL_BASE_URL: await deadUrl() }
    const { stderr } = await run(['users', 'profile', '--debug'], json(200, {}), { env })
    expect(stderr).to.match(/\nCaused by: connect ECONNREFUSED 127\.0\.0\.1:\d+\n$/)
    const refused = await run(['users', 'profile', '--debug'], failing(403, 'no', 'No'))
    expect(refused.stderr).to.match(/\nError: No \(403, .*\n(Hint: .*\n)?$/)
    for (const text of [stderr, refused.stderr]) expect(text).not.to.match(/^ +at /m)
  })

  it('shows the stack of a bug, without the functions of Node', async () => {
    const bug = new Error('boom')
    bug.stack = [
      'Error: boom',
      '    at #deliver (file:///opt/chatctl/dist/main.cjs:174:18918)',
      '    at async Client.send (/opt/chatctl/dist/main.cjs:1:15924)',
      '    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)',
      '    at run (file:///home/me/chatctl/src/boot/run.ts:10:3)',
    ].join('\n')
    const clock = {
      ...systemClock,
      now: () => {
        throw bug
      },
    }
    const broken = (...flags: string[]) =>
      run(['users', 'profile', ...flags], json(200, {}), { host: { clock } })
    const { stderr, exitCode } = await broken('--debug')
    expect(exitCode).to.equal(1)
    expect(stderr.slice(stderr.indexOf('Error: '))).to.equal(
      [
        'Error: This is a bug in chatctl: boom',
        `Hint:  Report this output at ${packageFile.bugs.url}`,
        '    at #deliver (file:///opt/chatctl/dist/main.cjs:174:18918)',
        '    at async Client.send (/opt/chatctl/dist/main.cjs:1:15924)',
        '    at run (file:///home/me/chatctl/src/boot/run.ts:10:3)',
        '',
      ].join('\n'),
    )
    expect((await broken()).stderr)
      .to.contain(`with --debug, and report the output at ${packageFile.bugs.url}`)
      .and.not.contain('    at ')
  })
})
