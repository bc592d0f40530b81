import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('users create', () => {
  const sandbox = perTest(createSandbox)
  const create = (...words: string[]) => runChatctl(sandbox, ['users', 'create', '-p', 'local', ...words])

  it('names the user who has the email, and the command that changes that user', async () => {
    const taken = ['--email', 'ada@example.com', '--generate-password']
    const { stdout } = await create(...taken, '--jq', '.id')
    const id = stdout.trim()
    expectFailure(await create(...taken), 7, `run: chatctl users get ${id} --profile local`)
    const values = ['--name', 'Ada L', '--metadata', 'a=b', '--metadata', 'n:=5']
    const change = `users update ${id} --name "Ada L" --metadata a=b --metadata n:=5 --profile local`
    expectFailure(await create(...taken, ...values), 7, `run: chatctl ${change}`)
  })

  it('requires a choice of a password, and suggests an email', async () => {
    const words = ['Password is required', '--generate-password, or --no-password', '--email ADDRESS']
    expectFailure(await create('--name', 'x', '--dry-run'), 3, ...words)
    const { stderr } = await create('--email', 'ada@example.com')
    expect(stderr).to.contain('Password is required').and.not.to.contain('--email')
  })
})
