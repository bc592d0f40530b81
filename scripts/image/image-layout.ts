import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** Reference to a blob (image-spec, descriptor.md). */
interface Descriptor {
  mediaType: string
  digest: string
  size: number
}

/** A part of the file system, compressed. */
export interface Layer {
  blob: Buffer
  /** The digest of the tar archive itself. */
  diffId: string
}

/** The image of one architecture. */
export interface Image {
  architecture: string
  /** ISO 8601. */
  created: string
  /** The fields of `config` in the image-spec, config.md. */
  config: object
  layers: readonly Layer[]
}

const mediaType = (name: string) => `application/vnd.oci.image.${name}`

/** Files of a layer with an owner. */
export interface OwnedFiles {
  directory: string
  /** Paths in the directory. */
  names: readonly string[]
  /** Used as user ID and group ID. */
  owner: number
  /** In the notation of chmod (default: as they are). */
  mode?: string
}

/**
 * Packs directories into one layer. The same files result in the same bytes.
 * @param time modification time of all files, in seconds since 1970
 */
export function packLayer(parts: readonly OwnedFiles[], time: number): Layer {
  const scratch = mkdtempSync(join(tmpdir(), 'chatctl-layer-'))
  const archive = join(scratch, 'layer.tar')
  try {
    for (const { directory, names, owner, mode } of parts) {
      const owners = [`--owner=${owner}`, `--group=${owner}`, '--numeric-owner']
      const stable = [
        '--format=ustar',
        '--sort=name',
        `--mtime=@${time}`,
        ...(mode ? [`--mode=${mode}`] : []),
      ]
      execFileSync('tar', ['-C', directory, ...stable, ...owners, '-rf', archive, ...names])
    }
    const bytes = readFileSync(archive)
    return { blob: gzipSync(bytes), diffId: digest(bytes) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * Writes an image layout (image-spec, image-layout.md) with one image for each architecture.
 * @param directory is replaced
 */
export function writeLayout(directory: string, tag: string, images: readonly Image[]): void {
  rmSync(directory, { recursive: true, force: true })
  const blobs = join(directory, 'blobs/sha256')
  mkdirSync(blobs, { recursive: true })

  const store = (type: string, content: Buffer | object): Descriptor => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content))
    const hash = digest(bytes)
    writeFileSync(join(blobs, hash.replace('sha256:', '')), bytes)
    return { mediaType: mediaType(type), digest: hash, size: bytes.length }
  }
  const manifests = images.map(({ architecture, created, config, layers }) => {
    const platform = { architecture, os: 'linux' }
    const rootfs = { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) }
    const history = layers.map(() => ({ created, created_by: 'chatctl' }))
    const manifest = {
      schemaVersion: 2,
      mediaType: mediaType('manifest.v1+json'),
      config: store('config.v1+json', { created, ...platform, config, rootfs, history }),
      layers: layers.map(({ blob }) => store('layer.v1.tar+gzip', blob)),
    }
    return { ...store('manifest.v1+json', manifest), platform }
  })
  const index = { schemaVersion: 2, mediaType: mediaType('index.v1+json') }
  const all = store('index.v1+json', { ...index, manifests })
  const named = { ...all, annotations: { 'org.opencontainers.image.ref.name': tag } }
  writeFileSync(join(directory, 'index.json'), JSON.stringify({ ...index, manifests: [named] }))
  writeFileSync(join(directory, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}

function digest(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
