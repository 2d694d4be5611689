import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { getButtonClass } from '../ui/button';
import { ErrorNote } from '../ui/error-note';
import { EmptyNote, Page } from '../ui/page';

/** Shown instead of a page that failed to render; the frame around it stays. */
export function BrokenPage({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page could not be shown">
      <ErrorNote error={error} retry={reset} />
    </Page>
  );
}

export function MissingPage() {
  return (
    <Page title="Page not found">
      <EmptyNote title="There is no page at this address. Check the address, or go to Home.">
        <Link to="/" className={getButtonClass()}>
          Go to Home
        </Link>
      </EmptyNote>
    </Page>
  );
}
