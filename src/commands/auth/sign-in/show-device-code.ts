import type { DeviceCode } from '../../../auth/device-sign-in.ts'
import type { Context } from '../../../cli/context/context.ts'
import { wantsColor } from '../../../cli/output/colors.ts'
import { roundDuration } from '../../../config/units.ts'
import { Failure } from '../../../contract/failure.ts'

/** What the user needs. The addresses are as the URL parser writes them. */
type ShownCode = Omit<DeviceCode, 'deviceCode'>

/** @throws Failure `usage` if stderr is no terminal, so that a QR code cannot be scanned there */
export function demandTerminalForQrCode({ streams, output }: Context): void {
  if (streams.isWatched && !output.isJson) return
  const reason = output.isJson ? 'with JSON output' : 'if stderr is not a terminal'
  throw new Failure('usage', `--qr cannot be used ${reason}`, {
    hint: 'Omit --qr. The URL and the code are printed in any case.',
  })
}

/**
 * Shows where to enter which code, on stderr. With JSON output, it is an event on stdout.
 * @param wait maximum time in ms until the sign-in is complete
 * @param withQrCode whether to draw the address as a QR code
 */
export async function showDeviceCode(
  context: Context,
  code: ShownCode,
  wait: number,
  withQrCode: boolean,
): Promise<void> {
  const { output, streams } = context
  const { userCode, verificationUri: uri, verificationUriComplete: complete, expiresIn, interval } = code
  if (output.isJson) {
    const event = {
      user_code: userCode,
      verification_uri: uri,
      verification_uri_complete: complete ?? null,
      expires_in: expiresIn ?? null,
      interval,
    }
    // Fields of the result would leave nothing of the code.
    return output.showEvent(event, false)
  }
  await output.showAddress('To sign in, open this URL on any device:', uri)
  streams.say(`Enter this code there: ${userCode}`)
  if (complete !== undefined) await output.showAddress('Or open the URL that contains the code:', complete)
  if (withQrCode) await showQrCode(context, complete ?? uri)
  // A user who pastes another code into a shell would run it.
  if (/^[A-Za-z0-9-]+$/.test(userCode) && sendToClipboard(context, userCode)) {
    output.notice('The code is also on the clipboard if your terminal allows it (OSC 52).')
  }
  output.notice(`Waiting up to ${roundDuration(wait)} until you have signed in.`)
}

async function showQrCode({ output, streams }: Context, url: string): Promise<void> {
  const { drawQrCode } = await import('../../../terminal/qr-code.ts')
  const lines = drawQrCode(url)
  const { stderr, env } = streams.host
  const [width, columns] = [lines[0]?.length ?? 0, stderr.columns || 80]
  if (width > columns) {
    output.notice(`The QR code needs ${width} columns, and the terminal has ${columns}.`)
    return
  }
  // Without color, the code is right on a dark background only. Most scanners also read an inverted one.
  const hasColor = wantsColor(stderr, env, output.isColorless)
  streams.sayStyled(lines.map((line) => (hasColor ? `\u001b[97;40m${line}\u001b[0m` : line)).join('\n'))
}

/** These print the sequence instead of reading it. */
const terminalsWithoutClipboard: ReadonlySet<string | undefined> = new Set([undefined, '', 'dumb', 'linux'])

/** @returns whether the code was sent to the terminal, which may ignore it */
function sendToClipboard({ output, streams }: Context, text: string): boolean {
  const { env, stderr } = streams.host
  if (!streams.isWatched || output.isQuiet || env['CI'] || terminalsWithoutClipboard.has(env['TERM']))
    return false
  stderr.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`)
  return true
}
