import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { buttonClass } from '../ui/button';
import { ErrorNote } from '../ui/error-note';
import { Empty, Page } from '../ui/page';

/** Shown instead of a page that failed to render; the frame around it stays. */
export function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page could not be shown">
      <ErrorNote error={error} retry={reset} />
    </Page>
  );
}

export function Missing() {
  return (
    <Page title="Page not found">
      <Empty title="There is no page at this address.">
        <Link to="/" className={buttonClass()}>
          Go to Home
        </Link>
      </Empty>
    </Page>
  );
}
