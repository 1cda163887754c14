/** Messages of three priorities, produced out of order. */

export const MIXED = [
  { topic: 't', payload: 3, priority: 'low' },
  { topic: 't', payload: 2, priority: 'normal' },
  { topic: 't', payload: 1, priority: 'high' },
  { topic: 't', payload: 2.5, priority: 'normal' },
  { topic: 't', payload: 1.5, priority: 'high' },
] as const
export const IN_ORDER = [1, 1.5, 2, 2.5, 3]
