/** Screenshot of a page as a small image that links to the full one. */
export function Picture({ url, of }: { url: string; of: string }) {
  return (
    <a href={url} target="_blank" rel="noreferrer" className="inline-block max-w-sm">
      <img src={url} alt={of} loading="lazy" className="max-h-64 rounded-control border border-line" />
    </a>
  );
}
