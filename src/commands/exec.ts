import { BaseCommand } from '../cli/base-command.ts'
import { commandLine } from '../cli/command-line.ts'
import { calls } from '../cli/documented-requests.ts'
import { requiredArguments } from '../cli/flags/flag-types.ts'
import { Failure } from '../contract/failure.ts'
import { runProgram } from '../system/run-program.ts'
import { revokeSoon } from './auth/end-dropped-sign-in.ts'
import { exchangeFlags, obtainToken } from './auth/exchanged-token.ts'

export default class Exec extends BaseCommand {
  static override summary = 'Run a program with a token that has fewer permissions'
  static override description =
    'The token has at most the permissions of the credential in use, and is revoked when the program ends. The program gets it and the address of the service in the variables of chatctl (chatctl help environment), and in OPENAI_API_KEY and OPENAI_BASE_URL. If the program runs chatctl, the options of the profile apply, such as approvers and save. It does not get the credential, but it runs as you: it can read your files and your keychain. The exit code is that of the program, or 128 and the number of the signal that ended it. The embedded service (chatctl service run) allows at most 12h, and 1h after a sign-in; another service needs token exchange (RFC 8693).'
  static override requests = {
    ...calls(),
    note: 'none to the service; a token is requested and revoked at its authorization server. The program may send any request that its token allows.',
    effect: 'changes the service',
  } as const
  static override usage = ['exec [flags] -- PROGRAM [ARGUMENT...]']
  static override examples = BaseCommand.toExamples({
    'Run a script that only reads conversations': 'chatctl exec --permission read:chat -- ./report.sh',
    'Run a coding agent for at most four hours':
      "chatctl exec --permission '*:chat' --for 4h -- agent --model MODEL",
  })
  static override args = { program: requiredArguments('Program and its arguments, which are not changed') }
  static override flags = exchangeFlags

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(Exec)
    const { program } = args
    if (this.argv.at(-program.length - 1) !== '--') {
      const hint = `For example: ${commandLine('exec', '--', ...program)}`
      throw new Failure('usage', 'The program must follow --', { hint })
    }
    const { host, signal, output } = context
    const { tokens, env } = await obtainToken(context, flags)
    // A terminal sends the signals of its keys to the program too.
    const isInTerminal = Object.values(host.isTerminal).includes(true)
    try {
      signal.throwIfAborted()
      this.exitCode = await runProgram(program, { env, cwd: host.cwd }, (name, pass) =>
        host.takeSignal(name, isInTerminal && /INT|QUIT/.test(name) ? () => {} : pass),
      )
    } finally {
      const stays = `The token stays valid until ${tokens.expires_at ?? 'it expires'}`
      if (tokens.revocation_endpoint !== undefined) await revokeSoon(context, tokens, stays)
      else await output.warn(`${stays}, because the server has no revocation endpoint`)
    }
  }
}
