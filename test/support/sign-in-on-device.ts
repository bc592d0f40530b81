import { type Run, startChatctl } from './run-chatctl.ts'
import type { Sandbox } from './sandbox.ts'
import { loginFlags, type Parties } from './sign-in.ts'
import { SkippingClock } from './stepped-clock.ts'
import { until } from './until.ts'

/** What `auth login --device --json` prints first. */
export interface ShownDeviceCode {
  user_code: string
  verification_uri: string
  verification_uri_complete: string | null
  expires_in: number | null
  interval: number
}

/** A clock whose sleeps end when the user has decided, so that the program polls only then. */
class DecidedClock extends SkippingClock {
  readonly #decided: () => Promise<unknown>

  constructor(decided: () => Promise<unknown>) {
    super()
    this.#decided = decided
  }

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#decided()
    return super.sleep(ms, signal)
  }
}

/**
 * Signs in to the profile `work` with `auth login --device --json`.
 *
 * @param decide acts as the user who enters the code
 */
export async function signInOnDevice(
  sandbox: Sandbox,
  parties: Parties,
  decide: (code: ShownDeviceCode) => Promise<unknown>,
): Promise<Run> {
  const args = ['auth', 'login', '--device', '--json', '--scope', 'chat:write', ...loginFlags(parties)]
  const clock = new DecidedClock(() => decided)
  const { written, ended } = startChatctl(sandbox, args, { host: { clock } })
  const failed = ended.then(({ stderr }) => {
    throw new Error(`it ended without a code: ${stderr}`)
  })
  const shown = until(() => written().stdout.includes('\n'))
  const decided = Promise.race([shown, failed]).then(() => {
    const [line = ''] = written().stdout.split('\n')
    return decide(JSON.parse(line))
  })
  await decided
  return ended
}
