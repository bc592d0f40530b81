import { spawnSync } from 'node:child_process'
import type { Run } from '../support/run-chatctl.ts'
import type { Sandbox } from '../support/sandbox.ts'
import { call, Program, startSessionBus } from './session-bus.ts'

/** The Secret Service of a desktop: gnome-keyring on a bus of its own, its files in the sandbox. */
export interface SecretService {
  /** What a program needs to find it. */
  env: NodeJS.ProcessEnv
  /** Locks the keyring in which everything is kept; reading asks for its password from then on. */
  lock(): void
  /** Holds the daemon as it is: connections stay open and nothing is answered. */
  stop(): void
  resume(): void
  close(): Promise<void>
  /** Runs secret-tool, libsecret's own program, against it. */
  secretTool(args: readonly string[], stdin?: string | Uint8Array): Run
}

/**
 * What becomes of the dialog that asks for the keyring's password: dismissed at once, which is what
 * gnome-keyring takes it for when nothing can show it, or shown for ever.
 */
export type Dialog = 'dismissed' | 'unanswered'

const secrets = 'org.freedesktop.secrets'
const prompter = 'org.gnome.keyring.SystemPrompter'
const root = '/org/freedesktop/secrets'
const login = `${root}/collection/login`

/**
 * Starts one, unlocked and empty. It does not end with the test: close it.
 *
 * @param hasKeyring whether it has a collection; without one it is as on a server without a desktop
 */
export async function startSecretService(
  sandbox: Sandbox,
  dialog: Dialog = 'dismissed',
  hasKeyring = true,
): Promise<SecretService> {
  const bus = await startSessionBus()
  const env = { ...sandbox.env, ...bus.env }
  const programs: Program[] = []
  const close = async () => {
    for (const program of programs) await program.end()
    await bus.close()
  }
  try {
    if (dialog === 'unanswered') {
      // It says yes to "begin prompting" and never that it is ready: a dialog that stays open. One
      // that did not answer at all is given up by gnome-keyring after D-Bus's 25 s.
      const opened = new Program('dbus-test-tool', ['echo', '--session', `--name=${prompter}`], env)
      programs.push(opened)
      await opened.until(() => bus.hasOwner(prompter))
    }
    const words = [
      '--foreground',
      ...(hasKeyring ? ['--unlock'] : []),
      '--components=secrets',
      `--control-directory=${bus.folder}/keyring`,
    ]
    const daemon = new Program('gnome-keyring-daemon', words, env, 'password of the keyring')
    programs.push(daemon)
    await daemon.until(() => bus.hasOwner(secrets) && (!hasKeyring || isUnlocked(bus.env)))
    return {
      env: bus.env,
      lock: () => {
        // A daemon that has only just unlocked it may answer before it is ready to lock it.
        for (let tries = 0; tries < 50; tries++) {
          call(bus.env, secrets, root, 'org.freedesktop.Secret.Service.Lock', `array:objpath:${login}`)
          if (!isUnlocked(bus.env)) return
        }
        throw new Error('the keyring was not locked')
      },
      stop: () => daemon.signal('SIGSTOP'),
      resume: () => daemon.signal('SIGCONT'),
      close,
      secretTool: (args, stdin = '') => secretTool(env, args, stdin),
    }
  } catch (error) {
    await close()
    throw error
  }
}

function isUnlocked(env: NodeJS.ProcessEnv): boolean {
  const property = ['string:org.freedesktop.Secret.Collection', 'string:Locked']
  try {
    return call(env, secrets, login, 'org.freedesktop.DBus.Properties.Get', ...property).includes('false')
  } catch {
    // The collection is made a moment after the name is owned.
    return false
  }
}

function secretTool(env: NodeJS.ProcessEnv, args: readonly string[], stdin: string | Uint8Array): Run {
  const { status, stdout, stderr, error } = spawnSync('secret-tool', args, {
    env,
    encoding: 'utf8',
    input: stdin,
    timeout: 20_000,
  })
  if (error) throw error
  return { exitCode: status, stdout, stderr }
}
