/** The version of this package: a constant, so that it survives bundling. A house test keeps it equal to package.json. */
export const VERSION = '0.1.0'
