// Each is a mistake that someone could make: a name, what it changes, and what it makes of it.

const COMPARISONS = [
  ['comparison', / <= /g, ' < '],
  ['comparison', / >= /g, ' > '],
  ['comparison', / < /g, ' <= '],
  ['comparison', / > /g, ' >= '],
]

const ARITHMETIC = [
  ['off by one', / \+ 1\b/g, ' + 0'],
  ['off by one', / - 1\b/g, ' - 0'],
  ['sign', / \+ /g, ' - '],
]

export const LUA_MISTAKES = [
  ...COMPARISONS,
  ...ARITHMETIC,
  ['comparison', / == /g, ' ~= '],
  ['comparison', / ~= /g, ' == '],
  ['min and max', /math\.min/g, 'math.max'],
  ['min and max', /math\.max/g, 'math.min'],
  ['logic', / and /g, ' or '],
  ['logic', / or /g, ' and '],
  ['negation', /\bnot /g, ''],
  ['condition', /\bif (.+) then$/g, 'if false then'],
  ['condition', /\bif (.+) then$/g, 'if true then'],
  ['statement', /^(\s*)(call|send|add|redis\.call)\(.*\)$/g, '$1do end'],
]

export const SQL_MISTAKES = [
  ...COMPARISONS,
  ...ARITHMETIC,
  // What stands behind `set` is no comparison.
  ['comparison', /(?<=\b(?:where|and|or|on|if|when)\b.*) = (?!any)/g, ' <> '],
  ['comparison', / <> /g, ' = '],
  ['least and greatest', /\bleast\(/g, 'greatest('],
  ['least and greatest', /\bgreatest\(/g, 'least('],
  ['logic', /\band /g, 'or '],
  ['logic', /\bor /g, 'and '],
  ['negation', /\bnot /g, ''],
  ['condition', /\b(els)?if (.+) then$/g, '$1if false then'],
  ['condition', /\b(els)?if (.+) then$/g, '$1if true then'],
  ['null', /\bis null\b/g, 'is not null'],
  ['null', /\bis not null\b/g, 'is null'],
  ['order', /\border by (\S+)$/g, 'order by $1 desc'],
  ['limit', /\blimit (\w+)\b/g, 'limit $1 + 1'],
  ['statement', /^(\s*)perform .*;$/g, '$1null;'],
]
