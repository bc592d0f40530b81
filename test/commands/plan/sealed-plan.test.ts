import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { PlanRun, plans } from './plan-run.ts'

describe('settings diff and users diff with --seal', () => {
  const run = perTest(() => PlanRun.start())

  for (const { command, file, text, value, applyFlags } of plans)
    describe(`${command} diff --seal`, () => {
      const chatctl = (...words: string[]) => run.chatctl(command, ...words)
      const save = (...words: string[]) => chatctl('diff', file, '--save', 'a.plan', '--seal', ...words)
      const withKey = ['--seal-key-file', 'seal.key']
      const apply = (...words: string[]) => chatctl('apply', 'a.plan', '--yes', ...applyFlags, ...words)

      beforeEach(async () => {
        run.file(file, text)
        expect((await run.chatctl('config', 'seal-key', 'seal.key')).exitCode).to.equal(0)
        expect((await save(...withKey)).exitCode).to.equal(0)
        run.server.requests.length = 0
      })

      it('writes a plan that contains none of its values, and is private', async () => {
        expect(run.read('a.plan')).to.match(/^\{"format":"chatctl-sealed-plan","v":1,/)
        expect(run.read('a.plan')).not.to.include(value)
        expect(Buffer.from(JSON.parse(run.read('a.plan')).data, 'base64').includes(value)).to.equal(false)
        expect(statSync(join(run.sandbox.home, 'a.plan')).mode & 0o777).to.equal(0o600)
      })

      it('writes a plan that is shown and applied with the key, from a file or a variable', async () => {
        expect((await chatctl('diff', 'a.plan', ...withKey)).stdout).to.include(value)
        run.env['CHATCTL_SEAL_KEY'] = run.read('seal.key').trim()
        expect((await chatctl('diff', 'a.plan')).stdout).to.include(value)
        expect(run.changes).to.deep.equal([])
        expect((await apply()).exitCode).to.equal(0)
        expect(JSON.stringify(run.changes)).to.include(value)
        expectFailure(await apply(), 7, 'was already')
      })

      it('has plans that are refused with a key if they are not sealed, and with an empty variable', async () => {
        await chatctl('diff', file, '--save', 'b.plan')
        run.env['CHATCTL_SEAL_KEY'] = ''
        for (const action of ['diff', 'apply'])
          expectFailure(await chatctl(action, 'b.plan'), 2, 'CHATCTL_SEAL_KEY is empty')
        const replaced = await chatctl('apply', 'b.plan', '--yes', ...applyFlags, ...withKey)
        expectFailure(replaced, 2, 'b.plan is not sealed, although a seal key is given')
        expect(run.changes).to.deep.equal([])
      })

      it('writes a plan that settings apply and users apply refuse without the key and with another one', async () => {
        for (const action of ['diff', 'apply']) {
          const without = await chatctl(action, 'a.plan', '--json')
          expect(JSON.parse(without.stderr).error).to.include({ code: 'sealed' })
          expectFailure(
            await chatctl(action, 'a.plan'),
            2,
            'a.plan is sealed, and no key was given',
            '--seal-key-file FILE or in CHATCTL_SEAL_KEY',
          )
        }
        await run.chatctl('config', 'seal-key', 'other.key')
        const refused = await apply('--seal-key-file', 'other.key')
        expectFailure(refused, 2, 'a.plan was sealed with another key than that of --seal-key-file other.key')
        expect(run.changes).to.deep.equal([])
      })

      it('writes a plan that is refused if a byte was altered', async () => {
        const altered = run.read('a.plan').replace(/.(?="\}\n$)/, (last) => (last === 'A' ? 'B' : 'A'))
        run.file('a.plan', altered)
        expect(await apply(...withKey)).to.include({
          exitCode: 2,
          stderr: 'Error: a.plan was changed or truncated after it was sealed\n',
        })
        expect(run.changes).to.deep.equal([])
      })

      it('replaces a plan, sealed or not, and needs a key that is one', async () => {
        expect((await chatctl('diff', file, '--save', 'a.plan')).exitCode).to.equal(0)
        expect(run.read('a.plan')).to.include(value)
        expect((await save(...withKey)).exitCode).to.equal(0)
        expect((await save(...withKey)).exitCode).to.equal(0)
        const refused = await save()
        expectFailure(refused, 2, '--seal requires a key', 'Make a key with: chatctl config seal-key FILE')
        expectFailure(await save('--seal-key-file', file), 2, `--seal-key-file ${file} is not a seal key`)
        const rejected = await chatctl('diff', file, '--save', 'b.plan', ...withKey)
        expectFailure(rejected, 2, '--save with --seal-key-file requires --seal')
      })
    })
})

describe('config seal-key', () => {
  const run = perTest(() => PlanRun.start())

  it('prints a new key, or writes it to a private file, and replaces no file', async () => {
    const { stdout } = await run.chatctl('config', 'seal-key')
    expect(stdout).to.match(/^[\w+/]{43}=\n$/)
    expect((await run.chatctl('config', 'seal-key')).stdout).not.to.equal(stdout)
    const shown = (await run.chatctl('config', 'seal-key', 'a.key')).stdout
    expect(shown).to.equal(join(run.sandbox.home, 'a.key\n'))
    expect(statSync(join(run.sandbox.home, 'a.key')).mode & 0o777).to.equal(0o600)
    const key = run.read('a.key')
    const refused = await run.chatctl('config', 'seal-key', 'a.key')
    expectFailure(refused, 1, 'Cannot write the seal key to ', 'EEXIST')
    expect(run.read('a.key')).to.equal(key)
  })
})
