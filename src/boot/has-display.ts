/** Whether a browser can probably be opened on this machine, by the environment of a process. */
export function hasDisplay(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): boolean {
  if (env['BROWSER']) return true
  // The person is at another machine.
  if (env['SSH_CONNECTION']) return false
  if (platform === 'darwin' || platform === 'win32') return true
  // In WSL, the browser of Windows opens.
  return Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY'] || env['WSL_DISTRO_NAME'])
}
