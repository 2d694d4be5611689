/** Where what belongs to packs lies in the store. Digests are the hex alone there, and in the tables. */
export const packObjects = {
  bundle: (organizationId: string, hex: string) => `packs/${organizationId}/bundles/${hex}.zip`,
  manifest: (organizationId: string, runtimeBundleId: string) =>
    `packs/${organizationId}/manifests/${runtimeBundleId}.json`,
  upload: (organizationId: string, uploadId: string) => `packs/${organizationId}/uploads/${uploadId}.zip`,
};

/** As it is spoken of everywhere else. */
export function digestOfHex(hex: string): string {
  return `sha256:${hex}`;
}

export function hexOfDigest(digest: string): string {
  return digest.replace(/^sha256:/, '');
}
