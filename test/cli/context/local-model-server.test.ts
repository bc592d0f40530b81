import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { sendJson, startModelServer } from '../../support/model-server.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  failing,
  garbage,
  html502,
  json,
  limited,
  reset,
  sse,
  startScriptedServer,
} from '../../support/scripted-server.ts'

describe('the model server of the embedded service', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => startModelServer())
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => runChatctl(sandbox, args, { env })
  const use = () => run(['config', 'set', 'model_server', server.url])

  it('replies to chat send, chat complete, and chat models', async () => {
    await use()
    expect((await run(['chat', 'send', 'hi'])).stdout).to.equal('I am m1.\n')
    expect((await run(['chat', 'send', 'hi', '--model', 'm2'])).stdout).to.equal('I am m2.\n')
    expect((await run(['chat', 'complete', 'hi'])).stdout).to.equal('I am m1.\n')
    expect((await run(['chat', 'models', '--fields', 'id'])).stdout).to.equal('m1\nm2\nm3\n')
  })

  it('gets its key, which no model server of the environment gets', async () => {
    writeFileSync(join(sandbox.home, 'up.key'), 'sk-canary\n', { mode: 0o600 })
    await use()
    await run(['config', 'set', 'model_server_key_file', 'up.key'])
    await run(['chat', 'models'])
    expect(server.requests.at(-1)?.headers.authorization).to.equal('Bearer sk-canary')
    await using other = await startModelServer()
    await run(['chat', 'send', 'hi'], { CHATCTL_MODEL_SERVER: other.url })
    expect(other.requests.map(({ headers }) => headers.authorization)).to.deep.equal([undefined, undefined])
  })

  it('is named with the exact command in the reply of the test program', async () => {
    const { stdout } = await run(['chat', 'send', 'hi'])
    expect(stdout).to.include('run: chatctl config set model_server=ollama\n')
  })

  it('replies to a completion that continues a conversation with the test program', async () => {
    await run(['chat', 'send', 'hi', '--system', 'Be brief.'])
    await use()
    expect(await run(['chat', 'send', '--continue', 'more'])).to.include({
      stdout: 'I am m1.\n',
      exitCode: 0,
    })
  })

  it('that has ended is an error that names its address and what to do', async () => {
    await use()
    await server.close()
    for (const args of [
      ['chat', 'send', 'hi'],
      ['chat', 'complete', 'hi'],
      ['chat', 'models', '--retries', '0'],
    ]) {
      const failed = await run(args)
      expectFailure(failed, 69, `Cannot reach the model server ${server.url}: connection refused`)
      expect(failed.stderr).to.include(
        'Start the model server, or stop using it with: chatctl config unset model_server',
      )
    }
    const failed = await run(['chat', 'send', 'hi'], { CHATCTL_MODEL_SERVER: server.url })
    expectFailure(failed, 69, 'Start the model server, or unset CHATCTL_MODEL_SERVER')
    expect((await run(['settings', 'get'])).exitCode).to.equal(0)
  })

  for (const [what, behavior, words] of [
    ['500', failing(500, 'x', 'Out of memory'), 'returned 500'],
    ['429', limited(), 'is overloaded'],
    ['502 with a web page', html502, 'returned 502'],
    ['invalid JSON', garbage, 'not JSON'],
    ['a reset', reset, 'No response from the model server'],
    ['a reply that ends immediately', sse([], { done: false }), /ended|not JSON/],
  ] as const)
    it(`that fails with ${what} leaves nothing unknown, and no code is shown to people`, async () => {
      const models = json(200, { object: 'list', data: [{ id: 'm1' }] })
      await using faulty = await startScriptedServer((request, ...more) =>
        (request.path.endsWith('/models') ? models : behavior)(request, ...more),
      )
      for (const flags of [[], ['--stream'], ['--no-stream']]) {
        const env = { CHATCTL_MODEL_SERVER: faulty.url }
        const failed = await run(['chat', 'send', 'hi', ...flags], env)
        expectFailure(failed, 69, words)
        expect(failed.stderr).to.not.match(/may have taken effect|UND_ERR|ECONNRESET/)
      }
      expect(JSON.parse((await run(['history', 'list', '--json'])).stdout).messages).to.deep.equal([])
    })

  it('that lacks the model is an error with the command that lists the models', async () => {
    await use()
    const failed = await run(['chat', 'send', 'hi', '--model', 'm9'])
    expectFailure(failed, 6, 'No model m9', 'List the models with: chatctl chat models')
  })

  it('that does not take the limit of the settings gets another request, and replies', async () => {
    for (const message of ["Use 'max_completion_tokens' instead", 'max_tokens is too large: 4096']) {
      await using picky = await startModelServer({
        complete: (response, { body }) =>
          JSON.parse(body).max_tokens
            ? sendJson(response, { error: { message } }, 400)
            : sendJson(response, { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }),
      })
      for (const words of [['send'], ['send', '--no-stream'], ['complete', '--model', 'm2']]) {
        const { stdout, stderr } = await run(['chat', ...words, 'x'], { CHATCTL_MODEL_SERVER: picky.url })
        expect([stdout, stderr.includes('Error')], message).to.deep.equal(['Hi\n', false])
      }
      const sent = picky.requestsOf('/v1/chat/completions').map(({ body }) => JSON.parse(body))
      expect(sent.map(({ max_completion_tokens: most }) => most)).to.include(
        message.startsWith('Use') ? 4096 : undefined,
      )
    }
  })

  it('without its /v1 is an error that says so', async () => {
    await run(['config', 'set', 'model_server', server.url.replace('/v1', '')])
    for (const words of [[], ['--model', 'm9'], ['--model', 'm9', '--no-stream']])
      expectFailure(
        await run(['chat', 'send', 'hi', ...words]),
        69,
        'returned 404',
        '"no such path"',
        'need /v1 at the end',
      )
  })

  it('with a key file that does not exist is an error that names the file', async () => {
    await use()
    await run(['config', 'set', 'model_server_key_file', 'gone.key'])
    expectFailure(await run(['chat', 'send', 'hi']), 2, join(sandbox.home, 'gone.key'))
  })
})
