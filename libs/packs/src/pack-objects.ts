/** Object keys of packs. In object keys and tables, a digest is hex without a prefix. */
export const packObjects = {
  bundle: (organizationId: string, hex: string) => `packs/${organizationId}/bundles/${hex}.zip`,
  manifest: (organizationId: string, runtimeBundleId: string) =>
    `packs/${organizationId}/manifests/${runtimeBundleId}.json`,
  upload: (organizationId: string, uploadId: string) => `packs/${organizationId}/uploads/${uploadId}.zip`,
};

/** Returns a digest with its prefix, as the API and the manifests show it. */
export function toPrefixedDigest(hex: string): string {
  return `sha256:${hex}`;
}

export function digestToHex(digest: string): string {
  return digest.replace(/^sha256:/, '');
}
