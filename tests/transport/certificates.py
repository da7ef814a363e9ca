"""Certificates of servers on this machine."""

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certified(folder: Path, host: str = "127.0.0.1", days: int = 1) -> ssl.SSLContext:
    """What a server needs to be trusted by whoever trusts ``certificate.pem``; -1 day: not any more."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    here: x509.GeneralName = x509.DNSName(host)
    if host[0].isdigit():
        here = x509.IPAddress(ipaddress.ip_address(host))
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(until - datetime.timedelta(days=2)).not_valid_after(until)
    names = x509.SubjectAlternativeName([here])
    certificate = built.add_extension(names, critical=False).sign(key, hashes.SHA256())
    pem, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context
