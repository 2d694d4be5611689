import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { buttonClass } from '../ui/button';
import { ErrorNote } from '../ui/error-note';
import { Empty, Page } from '../ui/page';

/** A page that could not be shown; the frame around it stands. */
export function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page could not be shown">
      <ErrorNote error={error} retry={reset} />
    </Page>
  );
}

export function Missing() {
  return (
    <Page title="Nothing here">
      <Empty title="There is no page at this address.">
        <Link to="/" className={buttonClass()}>
          To the first page
        </Link>
      </Empty>
    </Page>
  );
}
