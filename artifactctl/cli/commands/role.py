"""`role`: who may plan, approve, apply, purge, release and administer."""

import click

from artifactctl.cli.shared_options import Group, always
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import UsageError
from artifactctl.domain.roles import Role

ROLE = click.Choice([role.value for role in Role])


@click.group(cls=Group)
def role() -> None:
    """Say who may do what; without any role everybody may do everything."""


@role.command("grant", reasoned=True, changes=always)
@click.argument("name", type=ROLE, metavar="ROLE")
@click.argument("subject", metavar="WHO")
@pass_wiring
def grant(wiring: Wiring, name: str, subject: str) -> None:
    """Give somebody a role: plan, approve, apply, purge, release (holds, leases) or administer (roots, roles).

    WHO is an account (ada, or ada@gpu1 on one machine only), group:NAME, or a role of the PostgreSQL server. With the
    first role everybody else needs one, and you can administer; `artifactctl role ls` says what each may do.
    """
    from artifactctl.domain.roles import subject_from
    from artifactctl.inventory.granting import grant as grant_role
    from artifactctl.report.roles import NONE_RECORDED, grant_payload, granted_lines

    catalog, wanted = wiring.catalog, Role(name)
    whom = subject_from(subject, on_a_server=catalog.is_on_a_server)
    with catalog.reading() as reading:
        is_first = not reading.grants()
    if is_first:
        wiring.output.note(f"{NONE_RECORDED}; from now on each act takes its role")
        wiring.dialogue.confirm("Let roles decide from now on?")
    made = grant_role(catalog, wanted, whom, reason=wiring.choices.reason or "", acting=wiring.acting)
    wiring.output.answer(
        "role-grant",
        payload=lambda: {"granted": [grant_payload(each) for each in made]},
        text=lambda: granted_lines(made, wanted, str(whom)),
    )


@role.command("revoke", reasoned=True, changes=always)
@click.argument("name", type=ROLE, metavar="ROLE")
@click.argument("subject", metavar="WHO")
@pass_wiring
def revoke(wiring: Wiring, name: str, subject: str) -> None:
    """Take a role back. Nobody can take from themselves what they need to grant it again."""
    from artifactctl.domain.roles import subject_meant
    from artifactctl.inventory.granting import revoke as revoke_role
    from artifactctl.report.roles import NONE_RECORDED, grant_payload

    with wiring.catalog.reading() as reading:
        whom = subject_meant(subject, reading.grants(), on_a_server=wiring.catalog.is_on_a_server)
    gone = revoke_role(wiring.catalog, Role(name), whom, reason=wiring.choices.reason or "", acting=wiring.acting)
    with wiring.catalog.reading() as reading:
        was_last = not reading.grants()
    wiring.output.answer(
        "role-revoke",
        payload=lambda: {"revoked": [grant_payload(each) for each in gone], "in_force": not was_last},
        text=lambda: [f"{whom} does not have the role `{name}` any more", *([NONE_RECORDED] if was_last else [])],
    )


@role.command("ls")
@pass_wiring
def ls(wiring: Wiring) -> None:
    """List who has which role, and what you may do."""
    from artifactctl.report.roles import roles_document, roles_payload

    with wiring.catalog.reading() as reading:
        grants = reading.grants()
    who = wiring.catalog.who_acts()
    wiring.output.answer("roles", payload=lambda: roles_payload(grants, who), text=lambda: roles_document(grants, who))


@role.command("sql")
@click.argument("subject", metavar="WHO")
@pass_wiring
def sql(wiring: Wiring, subject: str) -> None:
    """Print the SQL by which the PostgreSQL server itself withholds from WHO what their roles do not cover.

    Whoever owns the tables runs it, again after each change: artifactctl role sql ada | psql URL. Without it only
    artifactctl checks roles, and any other client goes around them.
    """
    from artifactctl.domain.roles import subject_from
    from artifactctl.report.server_privileges import privilege_statements

    if not wiring.catalog.is_on_a_server:
        raise UsageError(
            "a catalog in a file is kept by nobody who could refuse anything",
            remedy="keep it in PostgreSQL, or keep the file from whoever should not write it (chmod, chgrp)",
        )
    whom = subject_from(subject, on_a_server=True)
    with wiring.catalog.reading() as reading:
        roles = {each.role for each in reading.grants() if each.subject == whom}
    statements = privilege_statements(whom.name, roles)
    wiring.output.answer(
        "role-sql", payload=lambda: {"subject": whom.name, "statements": list(statements)}, text=lambda: statements
    )
