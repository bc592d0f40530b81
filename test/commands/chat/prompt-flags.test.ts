import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

const review = `---
model: small
temperature: 0.2
max_tokens: 50
system: You review {{language}}.
---
Review this:
{{input}}
Thanks.
`

describe('--prompt', () => {
  const world = perTest(createSandbox)
  const run = (args: readonly string[], stdin = '') => runChatctl(world, args, { stdin })
  beforeEach(async () => {
    await run(['chat', 'prompts', 'set', 'review'], review)
    await run(['chat', 'prompts', 'set', 'commit'], 'Write a commit message for {{what}}')
  })
  const bodyOf = async (args: readonly string[], stdin?: string) => {
    const { stdout, stderr } = await run([...args, '--dry-run', '--json'], stdin)
    expect(stderr).to.equal('')
    return JSON.parse(stdout).body
  }

  it('streams the reply to a prompt that needs a completion', async () => {
    const args = ['chat', 'send', '--prompt', 'review', '--var', 'language=Go', 'First', '--stream']
    const { exitCode, stdout, stderr } = await run([...args, '-m', 'test-program'])
    expect({ exitCode, stdout }).to.include({ exitCode: 0 })
    expect(stdout).to.include('test program')
    expect(stderr).not.to.include('not streamed')
  })

  it('sends the parameters, the system message, and the text of the prompt with chat complete', async () => {
    const args = ['chat', 'complete', '--prompt', 'review', '--var', 'language=Go', 'First']
    expect(await bodyOf(args, 'second\n')).to.deep.equal({
      model: 'small',
      messages: [
        { role: 'system', content: 'You review Go.' },
        { role: 'user', content: 'Review this:\nFirst\n\nsecond\nThanks.' },
      ],
      temperature: 0.2,
      max_tokens: 50,
    })
  })

  it('gives each flag precedence over the prompt', async () => {
    const flags = ['-m', 'large', '-t', '1', '--max-tokens', '9', '--system', 'Be kind']
    for (const command of ['complete', 'send']) {
      const args = ['chat', command, '--prompt', 'review', '--var', 'language=Go', 'x', ...flags]
      expect(await bodyOf(args)).to.deep.include({ model: 'large', temperature: 1, max_tokens: 9 })
      expect((await bodyOf(args)).messages[0]).to.deep.equal({ role: 'system', content: 'Be kind' })
    }
  })

  it('is the message of chat send if there is no other, and else comes before it', async () => {
    const args = ['chat', 'send', '--prompt', 'commit', '--var', 'what={{x}} = y']
    expect(await bodyOf(args)).to.include({ message: 'Write a commit message for {{x}} = y' })
    expect(await bodyOf(args, 'diff')).to.include({ message: 'Write a commit message for {{x}} = y\n\ndiff' })
  })

  it('takes files as part of its input', async () => {
    writeFileSync(join(world.home, 'a.txt'), 'A\n')
    const args = ['chat', 'complete', '--prompt', 'review', '--var', 'language=Go', '-f', 'a.txt']
    const { messages } = await bodyOf(args)
    expect(messages[1].content).to.match(/^Review this:\nFile: a\.txt\n\n```\w*\nA\n```\nThanks\.$/)
  })

  it('requests a completion with chat send if the prompt sets parameters', async () => {
    const args = ['chat', 'send', '--prompt', 'review', '--var', 'language=Go', 'x']
    const body = await bodyOf(args)
    expect(body).to.include.keys('temperature', 'max_tokens')
    expect(body.messages[0].role).to.equal('system')
  })

  it('names missing variables with the flag, and refuses unknown, repeated, and malformed ones', async () => {
    const send = (...words: string[]) => run(['chat', 'send', '--prompt', 'commit', ...words, '--dry-run'])
    expectFailure(await send(), 2, 'needs a value for what', 'Add: --var what=VALUE')
    expectFailure(await send('--var', 'who=x'), 2, 'has no variable who (its variables: what)')
    expectFailure(await send('--var', 'what=x', '--var', 'what=y'), 2, '--var what was given twice')
    expectFailure(await send('--var', 'what'), 2, '--var "what" is not KEY=VALUE')
    expectFailure(await run(['chat', 'send', 'x', '--var', 'a=b']), 2, '--var requires --prompt')
    expectFailure(await run(['chat', 'send', '--prompt', 'commits']), 6, 'Did you mean commit?')
  })

  it('requires a message if the prompt contains {{input}} or has no body', async () => {
    const complete = ['chat', 'complete', '--prompt', 'review', '--var', 'language=Go']
    expectFailure(await run(complete), 2, 'needs a message')
    await run(['chat', 'prompts', 'set', 'role'], '---\nmodel: small\n---\n')
    expectFailure(await run(['chat', 'send', '--prompt', 'role']), 2, 'MESSAGE is missing or empty')
    expect(await bodyOf(['chat', 'send', '--prompt', 'role', 'Hi'])).to.include({
      message: 'Hi',
      model: 'small',
    })
  })
})
