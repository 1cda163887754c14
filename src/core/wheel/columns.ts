/** Columns of numbers that grow: a copy with more room. */

export function grownFloat64(from: Float64Array, size: number): Float64Array<ArrayBuffer> {
  const to = new Float64Array(size)
  to.set(from)
  return to
}

export function grownInt32(from: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(size)
  to.set(from)
  return to
}

export function grownUint8(from: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const to = new Uint8Array(size)
  to.set(from)
  return to
}

export function grownUint32(from: Uint32Array, size: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(size)
  to.set(from)
  return to
}
