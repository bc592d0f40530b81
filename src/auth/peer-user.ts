import { readFileSync } from 'node:fs'

/** The properties of a socket that identify its connection. */
interface TcpConnection {
  remoteAddress?: string | undefined
  remotePort?: number | undefined
  localPort?: number | undefined
}

/**
 * The user ID of the program at the other end of a loopback connection; -1 if the program has closed it. From
 * `/proc/net/tcp` of Linux (proc(5)).
 *
 * @returns undefined on other systems, or if the connection is not listed
 */
export function findPeerUser({ remoteAddress, remotePort, localPort }: TcpConnection): number | undefined {
  const address = addresses[remoteAddress ?? '']
  if (process.platform !== 'linux' || !address || !remotePort || !localPort) return undefined
  const port = toHex(localPort)
  for (const [table, host] of Object.entries(address)) {
    const [from, to] = [`${host}:${toHex(remotePort)}`, `${host}:${port}`]
    for (const row of readRows(table)) {
      const [, local, remote, , , , , user, , inode] = row.trim().split(/\s+/)
      // In any state, because a program that has closed its half of the connection can still read.
      if (local === from && remote === to) return inode === '0' ? noUser : Number(user)
    }
  }
  return undefined
}

/** A socket without a program is listed as owned by root, without an inode. */
const noUser = -1

/** The notation of loopback addresses in each table. An IPv6 socket may have an IPv4 connection. */
const addresses: Record<string, Record<string, string>> = {
  '127.0.0.1': { tcp: '0100007F', tcp6: '0000000000000000FFFF00000100007F' },
  '::1': { tcp6: '00000000000000000000000001000000' },
}

function toHex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

function readRows(table: string): string[] {
  try {
    return readFileSync(`/proc/net/${table}`, 'latin1').split('\n')
  } catch {
    return []
  }
}
