import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('users create', () => {
  const sandbox = perTest(createSandbox)
  const create = (...words: string[]) => runChatctl(sandbox, ['users', 'create', '-p', 'local', ...words])

  it('names the user who has the email', async () => {
    const taken = ['--email', 'ada@example.com', '--generate-password']
    const { stdout: id } = await create(...taken, '--jq', '.id')
    expectFailure(await create(...taken), 7, `run: chatctl users update ${id.trim()} --profile local`)
    const named = `run: chatctl users update ${id.trim()} --name "Ada L" --profile local`
    expectFailure(await create(...taken, '--name', 'Ada L'), 7, named)
  })

  it('requires the email before the password', async () => {
    expectFailure(await create(), 3, 'Email address is required', '--email ADDRESS', '--generate-password')
    expectFailure(await create('--email', 'ada@example.com'), 3, 'Password is required')
  })
})
