import { existsSync, readFileSync } from 'node:fs'
import { Failure } from '../contract/failure.ts'
import { type CommandOptions, runCommand } from './run-command.ts'

/** In the signature, so that a signature for another purpose is not one of a plan. */
const namespace = 'chatctl-plan'

/** Maximum durations in ms. A person may have to type a passphrase or to touch a security key. */
const maxSigning = 300_000
const maxVerifying = 30_000

type RunOptions = Omit<CommandOptions, 'maxDuration' | 'input' | 'usesTerminal' | 'onMessage'>

interface SignedText {
  /** Of its file. */
  name: string
  text: string
}

/**
 * Signs with OpenSSH.
 * @param onTouch called with a text if a security key must be touched
 * @returns the content of the signature file
 * @throws Failure `refused`
 */
export async function signText(
  { name, text }: SignedText,
  key: string,
  onTouch: (text: string) => void,
  options: RunOptions,
): Promise<string> {
  const running = { ...options, maxDuration: maxSigning, usesTerminal: true }
  const onMessage = (said: string) => said.includes('user presence') && onTouch(said.trim())
  const signed = await sshKeygen(['sign', '-n', namespace, '-f', key], text, { ...running, onMessage })
  if (signed.output !== undefined) return signed.output
  throw new Failure('refused', `Cannot sign ${name} with ${key}: ${signed.problem}`)
}

/** Why a signature is refused: what ssh-keygen says, a code, and the words of chatctl. */
const refusals: readonly [said: RegExp, code: string, words: string][] = [
  [/namespace does not match/, 'other_namespace', `its signature is not one of a plan (${namespace})`],
  [/incorrect signature/, 'other_content', 'its signature is for other content'],
  [/key has expired|key is not yet valid/, 'approval_expired', 'the key that signed it is not valid now'],
  [/^No principal|not permitted for use/, 'unknown_approver', 'the key that signed it is not of an approver'],
  [/./s, 'invalid_signature', 'ssh-keygen refuses its signature'],
]

/**
 * Verifies a signature with OpenSSH.
 * @param signature path of the signature file
 * @param approvers path of an `allowed_signers` file
 * @returns who has signed
 * @throws Failure `refused` with a code for each reason
 */
export async function verifySignature(
  { name, text }: SignedText,
  signature: string,
  approvers: string,
  options: RunOptions,
): Promise<string> {
  const refuse = (code: string, words: string) =>
    new Failure('refused', `${name} is not approved: ${words}`, { code, advice: [{ code: 'approve_plan' }] })
  if (!existsSync(signature)) throw refuse('unsigned', `there is no signature ${signature}`)
  const running = { ...options, maxDuration: maxVerifying }
  const files = ['-f', approvers, '-s', signature]
  const found = await sshKeygen(['find-principals', ...files], '', running)
  let { problem } = found
  // ssh-keygen finds only the first line with the key, which may be for another purpose.
  for (const who of found.output === undefined
    ? []
    : new Set([...found.output.split('\n', 1), ...namesIn(approvers)])) {
    const verified = await sshKeygen(['verify', '-n', namespace, '-I', who, ...files], text, running)
    if (verified.output !== undefined) return who
    problem ??= verified.problem
  }
  const [, code = '', words = ''] = refusals.find(([said]) => said.test(problem ?? '')) ?? []
  throw refuse(code, `${words} (${problem})`)
}

/** The names in an `allowed_signers` file. */
function namesIn(path: string): string[] {
  const lines = readFileSync(path, 'utf8').matchAll(/^[ \t]*(?:"([^"\n]*)"|([^\s#"]\S*))/gm)
  return [...lines].flatMap(([, quoted, bare = '']) => (quoted ?? bare).split(','))
}

/** @returns its stdout, or what it said of its failure. @throws Failure `refused` if it is not installed */
async function sshKeygen(
  words: readonly string[],
  input: string,
  { onMessage, ...options }: Omit<CommandOptions, 'input'>,
): Promise<{ output: string; problem?: never } | { output?: never; problem: string }> {
  let said = ''
  const listen = (text: string) => {
    said += text
    onMessage?.(text)
  }
  const command = ['ssh-keygen', '-Y', ...words] as const
  const result = await runCommand(command, { ...options, input, onMessage: listen })
  if ('output' in result) return { output: result.output.toString() }
  if (!result.isMissing) return { problem: said.trim().replaceAll(/[\r\n]+/g, '; ') || result.problem }
  throw new Failure('refused', 'Signatures of plans need the program ssh-keygen, which was not found', {
    code: 'ssh_keygen_missing',
    advice: [{ code: 'install_openssh' }],
  })
}
