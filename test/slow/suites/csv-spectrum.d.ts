declare module 'csv-spectrum' {
  interface Sample {
    name: string
    csv: Buffer
    json: Buffer
  }
  export default function spectrum(done: (error: unknown, samples: Sample[]) => void): void
}
