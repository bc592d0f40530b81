import { spawnSync } from 'node:child_process'
import type { Run } from '../../support/run-chatctl.ts'
import type { Sandbox } from '../../support/sandbox.ts'
import { call, Program, startSessionBus } from './session-bus.ts'

/** The Secret Service of a desktop: gnome-keyring on a separate bus, with its files in the sandbox. */
export interface SecretService {
  /** The variables with which a program finds it. */
  env: NodeJS.ProcessEnv
  /** Locks the keyring, so that every read needs its password. */
  lock(): void
  /** Stops the daemon: connections stay open, and nothing is answered. */
  stop(): void
  resume(): void
  close(): Promise<void>
  /** Runs secret-tool, the program of libsecret, with this service. */
  secretTool(args: readonly string[], stdin?: string | Uint8Array): Run
}

/**
 * What happens to the dialog for the password of the keyring: it is dismissed immediately, which
 * gnome-keyring assumes if no program can show it, or it stays open.
 */
export type Dialog = 'dismissed' | 'unanswered'

const secrets = 'org.freedesktop.secrets'
const prompter = 'org.gnome.keyring.SystemPrompter'
const root = '/org/freedesktop/secrets'
const login = `${root}/collection/login`

/**
 * Starts a Secret Service, unlocked and empty. It does not end with the test: close it.
 *
 * @param hasKeyring whether it has a collection; without one it is like that of a server without a desktop
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
      // It accepts "begin prompting" and never reports that it is ready, like a dialog that stays open.
      // gnome-keyring gives up on a prompter without any reply after the 25 s of D-Bus.
      const opened = new Program('dbus-test-tool', ['echo', '--session', `--name=${prompter}`], env)
      programs.push(opened)
      await opened.until(() => bus.hasOwner(prompter))
    }
    const words = [
      '--foreground',
      ...(hasKeyring ? ['--unlock'] : []),
      '--components=secrets',
      `--control-directory=${bus.directory}/keyring`,
    ]
    const daemon = new Program('gnome-keyring-daemon', words, env, 'password of the keyring')
    programs.push(daemon)
    await daemon.until(() => bus.hasOwner(secrets) && (!hasKeyring || isUnlocked(bus.env)))
    return {
      env: bus.env,
      lock: () => {
        // A daemon that has just unlocked the keyring may reply before it is ready to lock it.
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
    // The collection is created shortly after the name is owned.
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
