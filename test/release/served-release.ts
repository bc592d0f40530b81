import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { executableName, licensesName, targets } from '../../scripts/executable/targets.ts'
import { signRelease } from '../../scripts/release/signature.ts'
import { writeRelease } from '../../scripts/release/write-release.ts'
import { packageFile, root } from '../scripts/package-file.ts'
import { answer, type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts'

/** The target of this machine. */
export const ownTarget = process.arch === 'arm64' ? 'linux-arm64' : 'linux-x64'
const path = '/acme/chatctl'
/** 2026-01-31. */
const time = 1_769_817_600

interface SigningKey {
  /** Private key. */
  key: string
  /** The line with the public key. */
  signers: string
}

export function createSigningKey(): SigningKey {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-key-'))
  const file = join(directory, 'key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', file])
  const [key = '', publicKey = ''] = [file, `${file}.pub`].map((path) => readFileSync(path, 'utf8'))
  rmSync(directory, { recursive: true })
  return { key, signers: `chatctl-release namespaces="chatctl-release" ${publicKey.trim()}` }
}

let signingKey: SigningKey | undefined

/** The key that signs the releases of this process. */
export function releaseKey(): SigningKey {
  signingKey ??= createSigningKey()
  return signingKey
}

/** A release on loopback. Its executables are small stand-ins, and that of this machine runs the build. */
export interface ServedRelease {
  version: string
  /** Address of the repository. */
  url: string
  directory: string
  /** The names of the published files. */
  files: string[]
  /** The faults of the server. */
  faults: ScriptedServer['faults']
  /** The path of a published file, for `faults`. */
  pathOf(name: string): string
  /** A published file. */
  contentOf(name: string): Buffer | undefined
  /** The requested paths. */
  requested(): string[]
  close(): Promise<void>
}

export function createReleaseDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-release-'))
  for (const target of Object.keys(targets)) {
    const file = join(directory, executableName(target))
    writeFileSync(
      file,
      `#!/bin/sh\n# ${target}\nexec '${process.execPath}' '${join(root, 'bin/run.js')}' "$@"\n`,
    )
    chmodSync(file, 0o755)
    writeFileSync(join(directory, licensesName(target)), `Licenses of ${target}\n`)
  }
  return directory
}

export function writeStandInRelease(directory: string, url: string): string[] {
  const { key, signers } = releaseKey()
  const files = writeRelease({ directory, url, time, signers })
  signRelease(directory, key, signers)
  return [...files, 'SHASUMS256.txt.sig']
}

/** @param executable the program of this machine (default: a stand-in) */
export async function serveRelease(executable?: string): Promise<ServedRelease> {
  const directory = createReleaseDirectory()
  if (executable) {
    for (const name of [executableName(ownTarget), licensesName(ownTarget)])
      copyFileSync(join(dirname(executable), name), join(directory, name))
  }
  const served = new Map<string, Buffer>()
  const prefix = `${path}/releases/download/v${packageFile.version}/`
  const server = await startScriptedServer({
    choose: ({ path }) => {
      const file = basename(path)
      const content = path === prefix + file ? served.get(file) : undefined
      return content ? answer(200, {}, content) : answer(404)
    },
  })
  const url = server.url + path
  const files = writeStandInRelease(directory, url)
  for (const file of files) served.set(file, readFileSync(join(directory, file)))
  return {
    version: packageFile.version,
    url,
    directory,
    files,
    faults: server.faults,
    pathOf: (name) => prefix + name,
    contentOf: (name) => served.get(name),
    requested: () => server.requests.map(({ path }) => path),
    close: async () => {
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
