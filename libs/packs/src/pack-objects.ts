/** Where what belongs to packs lies in the store. */
export const packObjects = {
  bundle: (organizationId: string, digest: string) => `packs/${organizationId}/bundles/${hexOf(digest)}.zip`,
  manifest: (organizationId: string, runtimeBundleId: string) =>
    `packs/${organizationId}/manifests/${runtimeBundleId}.json`,
};

/** As it is spoken of outside of the tables and the objects' names. */
export function digestOfHex(hex: string): string {
  return `sha256:${hex}`;
}

function hexOf(digest: string): string {
  return digest.replace(/^sha256:/, '');
}
