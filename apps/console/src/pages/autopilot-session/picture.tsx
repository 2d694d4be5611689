/** Screenshot of a page as a small image that links to the full one. */
export function PageScreenshot({ url, alt }: { url: string; alt: string }) {
  return (
    <a href={url} target="_blank" rel="noreferrer" className="inline-block max-w-sm">
      <img src={url} alt={alt} loading="lazy" className="max-h-64 rounded-control border border-line" />
    </a>
  );
}
