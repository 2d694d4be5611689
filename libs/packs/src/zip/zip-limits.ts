const mebibyte = 1024 * 1024;

/** Limits of the zip file of a pack bundle. */
export const zipLimits = {
  zippedBytes: 64 * mebibyte,
  unzippedBytes: 512 * mebibyte,
  entries: 10_000,
  /** Maximum ratio of the unzipped size to the size of the zip, if more than `ratioFromBytes` are unzipped. */
  ratio: 100,
  ratioFromBytes: 10 * mebibyte,
  /** Names, extra fields and comments of all entries; limited because they are read into memory together. */
  directoryBytes: 8 * mebibyte,
  /**
   * Limits of one path. Beyond `pathBytes` or `segments` the reason is path_too_long. A worker puts the path of its own
   * folder in front of it. If the whole path exceeds what the machine's operating system accepts (4,095 bytes on Linux),
   * the worker fails the run with the same reason.
   */
  pathBytes: 4096,
  segments: 100,
  segmentBytes: 255,
};
