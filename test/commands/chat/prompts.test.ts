import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { type RunOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

const translate = '---\nmodel: small\n---\nTranslate to {{language}}:\n'

describe('the prompt library', () => {
  const world = perTest(
    () => createSandbox(),
    (sandbox) => sandbox.remove(),
  )
  const directory = () => join(world.home, '.config/chatctl/prompts')
  const fileOf = (name: string) => join(directory(), `${name}.md`)
  const run = (words: string, options: RunOptions = {}) => runChatctl(world, words.split(' '), options)
  const set = (name: string, stdin = translate) => run(`chat prompts set ${name}`, { stdin })
  const json = async (words: string) => JSON.parse((await run(`${words} --json`)).stdout)
  const plant = (name: string, text: string | Uint8Array) => {
    mkdirSync(directory(), { recursive: true })
    writeFileSync(fileOf(name), text)
  }

  describe('chat prompts set', () => {
    it('stores the text from stdin unchanged, for this user only', async () => {
      const { exitCode, stdout } = await set('translate')
      expect(exitCode).to.equal(0)
      expect(stdout).to.equal(`translate\tfalse\t${fileOf('translate')}\n`)
      expect(readFileSync(fileOf('translate'), 'utf8')).to.equal(translate)
      if (process.platform === 'win32') return
      expect(statSync(fileOf('translate')).mode & 0o777).to.equal(0o600)
      expect(statSync(directory()).mode & 0o777).to.equal(0o700)
    })

    it('says whether a prompt was created or replaced', async () => {
      const options = { terminal: { columns: 80 }, stdin: '' }
      writeFileSync(join(world.home, 'a.md'), 'A')
      const words = 'chat prompts set a --file a.md'.split(' ')
      expect((await runChatctl(world, words, options)).stdout).to.contain('Created prompt "a".')
      expect((await runChatctl(world, words, options)).stdout).to.contain('Replaced prompt "a".')
    })

    it('refuses an invalid text and keeps the prompt', async () => {
      await set('translate')
      expectFailure(await set('translate', '---\nmode: x\n---\n'), 2, 'stdin:2:1: mode is an unknown key')
      writeFileSync(join(world.home, 'bad.md'), 'a {{')
      const refused = await run('chat prompts set translate --file bad.md')
      expectFailure(refused, 2, 'bad.md:1:3: {{ is not a variable')
      expectFailure(await set('translate', ''), 2, 'stdin contains no prompt')
      expectFailure(await run('chat prompts set x', { stdin: Uint8Array.of(0xff) }), 2, 'stdin is not UTF-8')
      expect(readFileSync(fileOf('translate'), 'utf8')).to.equal(translate)
    })

    it('refuses a name that could leave the directory', async () => {
      for (const name of ['../x', '.x', 'a/b', 'a\\b', 'x'.repeat(65)])
        expectFailure(await set(name), 2, `"${name}" is not a valid prompt name`)
      expect(existsSync(directory())).to.equal(false)
    })

    it('replaces the target of a symbolic link, not the link', async function () {
      if (process.platform === 'win32') this.skip()
      plant('b', 'B')
      writeFileSync(join(world.home, 'dotfile.md'), 'old')
      symlinkSync(join(world.home, 'dotfile.md'), fileOf('a'))
      await set('a', 'new')
      expect(readFileSync(join(world.home, 'dotfile.md'), 'utf8')).to.equal('new')
    })

    it('opens the editor in a terminal, and exits 3 with --no-input', async function () {
      if (process.platform === 'win32') this.skip()
      const edit = (command: string, words = 'chat prompts set greet') =>
        runChatctl(world, words.split(' '), {
          terminal: { columns: 80 },
          env: { VISUAL: command },
          stdin: '\n',
        })
      expect((await edit('echo "Hello {{name}}" >>')).stdout).to.contain('Created prompt "greet".')
      expect((await json('chat prompts show greet')).variables).to.deep.equal(['name'])
      expect((await edit('true')).stdout).to.contain('No changes.')
      expect(await edit('true', 'chat prompts set x --no-input')).to.have.property('exitCode', 3)
    })
  })

  describe('chat prompts list', () => {
    it('lists name, description, and model, sorted by name', async () => {
      await set('translate')
      await set('a.b-c', '# Review\n')
      const { stdout } = await run('chat prompts list')
      expect(stdout).to.equal('a.b-c\tReview\t\ntranslate\tTranslate to {{language}}:\tsmall\n')
      expect(await json('chat prompts list')).to.deep.equal([
        { name: 'a.b-c', description: 'Review', model: null, variables: [], path: fileOf('a.b-c') },
        {
          name: 'translate',
          description: 'Translate to {{language}}:',
          model: 'small',
          variables: ['language'],
          path: fileOf('translate'),
        },
      ])
    })

    it('lists an invalid prompt too, with a warning', async () => {
      plant('bad', '{{')
      plant('good', 'Hi')
      plant('binary', Uint8Array.of(0xff, 0xfe, 65, 0))
      const { exitCode, stdout, stderr } = await run('chat prompts list')
      expect(exitCode).to.equal(0)
      expect(stdout).to.equal('bad\t\t\nbinary\t\t\ngood\tHi\t\n')
      expect(stderr).to.contain(`${fileOf('bad')}:1:1: {{ is not a variable`)
      expect(stderr).to.contain(`${fileOf('binary')} is UTF-16 text, not UTF-8`)
    })

    it('ignores other files, and says when there are no prompts', async () => {
      expect(await run('chat prompts list')).to.deep.include({ exitCode: 0, stdout: '' })
      plant('x', 'X')
      writeFileSync(join(directory(), 'notes.txt'), '')
      writeFileSync(join(directory(), '.hidden.md'), '')
      mkdirSync(fileOf('directory'))
      expect((await run('chat prompts list --fields name')).stdout).to.equal('x\n')
    })
  })

  describe('chat prompts show', () => {
    it('prints the file, also an invalid one', async () => {
      await set('translate')
      expect((await run('chat prompts show translate')).stdout).to.equal(translate)
      plant('bad', 'a {{\n')
      expect((await run('chat prompts show bad')).stdout).to.equal('a {{\n')
      const asJson = await run('chat prompts show bad --json')
      expect(asJson.exitCode).to.equal(2)
      expect(JSON.parse(asJson.stderr).error.message).to.contain(`${fileOf('bad')}:1:3: {{ is not a variable`)
    })

    it('exits 6 for an unknown prompt, and names a similar one', async () => {
      await set('translate')
      expectFailure(await run('chat prompts show translated'), 6, 'Did you mean translate?')
      expectFailure(await run('chat prompts show translate.md'), 6, 'Did you mean translate?')
    })
  })

  describe('chat prompts delete', () => {
    it('deletes nothing if one of the prompts does not exist, and names all that do not', async () => {
      await set('a')
      expectFailure(await run('chat prompts delete a b c --yes'), 6, 'Unknown prompt "b", "c"')
      expect(existsSync(fileOf('a'))).to.equal(true)
    })

    it('requires --yes in a non-interactive run, and deletes nothing with --dry-run', async () => {
      await set('a')
      expectFailure(await run('chat prompts delete a'), 3, '--yes')
      expect((await run('chat prompts delete a a --dry-run --json')).stdout).to.contain('"a"\n')
      expect(existsSync(fileOf('a'))).to.equal(true)
      expect((await run('chat prompts delete a a --yes')).stdout).to.equal(`a\t${fileOf('a')}\n`)
      expect(existsSync(fileOf('a'))).to.equal(false)
    })
  })
})

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
