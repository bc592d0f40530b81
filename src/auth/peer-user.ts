import { readFileSync } from 'node:fs'

/** The two ends of a connection, as its socket names them. */
interface TcpConnection {
  remoteAddress?: string | undefined
  remotePort?: number | undefined
  localPort?: number | undefined
}

/**
 * The id of the user whose program is at the other end of a loopback connection; -1 when the program
 * has closed it. Linux lists them in `/proc/net/tcp` (proc(5)).
 *
 * @returns undefined on other systems, and where the list does not have the connection
 */
export function findPeerUser({ remoteAddress, remotePort, localPort }: TcpConnection): number | undefined {
  const address = addresses[remoteAddress ?? '']
  if (process.platform !== 'linux' || !address || !remotePort || !localPort) return undefined
  const port = toHex(localPort)
  for (const [table, host] of Object.entries(address)) {
    const [from, to] = [`${host}:${toHex(remotePort)}`, `${host}:${port}`]
    for (const row of readRows(table)) {
      const [, local, remote, , , , , user, , inode] = row.trim().split(/\s+/)
      // In any state: a program that has closed its half of the connection still reads.
      if (local === from && remote === to) return inode === '0' ? nobody : Number(user)
    }
  }
  return undefined
}

/** A socket that no program has any more is listed as one of root, without an inode. */
const nobody = -1

/** How each table writes a loopback address; a socket for IPv6 may be used for IPv4 too. */
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
