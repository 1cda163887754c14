export declare const POSTGRES_USER: { readonly uid?: number; readonly gid?: number }
export declare function findBinaries(): readonly { readonly version: number; readonly directory: string }[]
