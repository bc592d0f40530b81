import { deadUrl } from './scripted-server.ts'

/** A port of 127.0.0.1 on which nothing listens now. */
export async function freePort(): Promise<number> {
  return Number(new URL(await deadUrl()).port)
}
